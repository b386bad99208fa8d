// Package console serves the pages for people who sign in.
//
// It can do nothing that the API cannot: every page reads and changes through
// [API], which app fulfils with the client of the HTTP API, called in process
// with the token of the person. Pages are plain HTML from html/template, work
// without scripts, and with scripts keep themselves up to date.
//
// # Layout
//
// Each area has a package of its own: home, find (the search that the palette shows), jobs, schedules, calendars, tasks,
// monitors (with incidents and sent alerts), cycles, programs, workers, queues,
// audit, settings (with tokens and secrets), alerting (alert rules and
// channels), windows, statuspages. No area imports another.
// This package mounts them, signs people in and keeps pages up to date.
//
// Shared code is in internal: parts has the parts of pages, and the texts of
// numbers, times and nouns; frame has the request, the layout, links and answers;
// forms has the forms of definitions, with the inputs of each kind of task in
// forms/kinds.go.
//
// # Adding a page
//
// Take the package queues as the example. Its area.go has the parts of every area:
// API, the part of the node's API that its pages use, page, Area and the functions
// that its templates call.
//
//  1. In things.go, declare the part of the API that the page uses as a small
//     interface, thingsAPI, with methods of httpapi's Client, and embed it in
//     the API of the area. Methods that another page declares too may be repeated.
//  2. In things.go, list the routes, var thingRoutes = routes{"GET /things":
//     thingList, "POST /things/{name}/pause": pauseThing}, and add them to
//     Area (area.go). A new area is added to areas (routes.go) and API (api.go).
//     The navigation shows an entry once its page is there.
//     A path element in the place of a name, which is no name, begins with a
//     dash, because no name does: "GET /things/-new": newThing.
//  3. A handler takes a *page and returns an error. It reads with p.api and
//     p.R.Context(), several reads beside each other with frame.Together and
//     frame.Get, for the namespace p.Namespace, and ends in
//     return p.Show("things", data).
//     An error that it returns becomes a page with the API's status and hint.
//     An action ends in return p.Done(p.Link("things", name), "Thing %s is
//     paused.", name), which goes on to a page that says so. A form that was
//     refused is shown again with return p.Again("thing-form", data, err).
//  4. things.html defines "title" and "main". Its dot is the *page:
//     .Data is the data of the handler, and the methods of page can be called,
//     within range and with too, as $.Link, $.When and so on. All links are made
//     with .Link or .LinkIn (which know prefix and namespace), and changed with
//     .With and .Here. Actions that the reader may not use stand in
//     {{if .Can "operate"}}. A function that only formats is in funcs.
//  5. Give the parts that change an id and data-live="job queue", the nouns
//     whose changes they show: they are then read again by themselves. Give rows
//     ids too. Parts must look the same for the same data. Monitors
//     that are judged are the noun check, and check:shop for one of them. Only
//     the node that settled a check tells of it, so parts about monitors have
//     data-every="10" besides, and are read again after so many seconds.
//  6. Add a row to everyPage in pages_test.go, and a test of each action. Tests
//     with a node and a browser stand in this package, a file for each area, so
//     that all have one browser; those of functions stand beside them.
//
// # Parts
//
// The page /design shows them, and ui/README.md says when to use which. They
// stand in internal/parts, each with the function that makes its data:
//
//	time     ($.When t), ($.WhenIn zone t), ($.Ago t) relative, in the zone that the reader has chosen
//	chip     (chip .State): a state as a word with a mark
//	empty    (empty title text command), or (emptyWith ... link button): the first step
//	icon     (icon "play"): one of Lucide's
//	dot      (dot .State): a state as a shape, in a row
//	menu     (menu id label (linkItem icon name link) (item icon name action) (askItem icon name dialog) ...): the actions of a row
//	spark    a parts.Spark: a number over time without an axis
//	problem  (problem err): an error and the way out
//	pager    p.Pager(answer.Next), in the handler, or ($.Pager next)
//	bar      (bar label value of text tone): a share of a whole
//	stats    (stats (stat label value note link tone) ...): numbers that matter
//	tabs     (tabs (tab name link here count) ...)
//	field    (field name label kind value hint err): an input with its faults;
//	         .Need, .Among and .From (a datalist) in Go
//	confirm  a parts.Confirm: a button that asks first
//	command  (.Command method path body word...): an action as curl and CLI
//	strip    a parts.Strip: the last results
//	steps    []parts.Step
//	search   a parts.Search: the input of a language of terms
//	in-namespace  keeps a form with method get in its namespace
//	chart    a parts.Chart: a table that chart.js draws, in Tones if need be
//	job-rows (jobRows $ jobs): a table of jobs
//
// Tables with the class cards become cards on a phone; their cells name their
// column in data-th. Tables that cannot be cards stand in a div with the class
// scroll, role region, a label and tabindex 0.
//
// A form that takes more than to read begins with p.Allow(scope).
//
// Functions: number, count (up to core.CountLimit), bytes, percent (of a
// ratio), span and latency (of a duration), words (of a code), short (n, text),
// join, add. Text is never put into a script or style: the policy refuses both.
package console
