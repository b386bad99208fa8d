package alert

import (
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/setting"
)

// GotifyChannel sends to an application of a Gotify server.
type GotifyChannel struct {
	Server string      `json:"server" doc:"URL of the server"`
	Token  core.Secret `json:"token" doc:"Of the application"`
}

func (g GotifyChannel) validate() error {
	var p core.Problems
	core.CheckURL(&p, "server", g.Server, "http", "https")
	checkToken(&p, "token", g.Token)
	if g.Token == "" {
		p.Add("token", "", "is missing", "the token of an application of the server")
	}
	return p.Err("gotify")
}

var gotifyKind = Kind{
	Name: "gotify", Title: "Gotify", Flag: "gotify",
	Fields: []setting.Field{
		{Path: "server", Flag: "gotify", Usage: "URL of a Gotify server, whose application has the token of --app-token", Label: "Server", Need: true, Hint: "Such as https://gotify.example.com"},
		{Path: "token", As: setting.Secret, Flag: "app-token", Usage: "token of the application", Label: "Token of the application", Need: true, Hint: "It is never shown."},
	},
	part: setting.At(func(c *Channel) **GotifyChannel { return &c.Gotify }, nil, GotifyChannel.validate),
	same: func(c, old Channel) bool { return c.Gotify.Server == old.Gotify.Server },
	goal: func(c Channel) Goal { return Goal{To: c.Gotify.Server} },
	facts: func(c Channel) (f setting.Facts) {
		f.Add(true, "token", "%s", c.Gotify.Token)
		return f
	},
}
