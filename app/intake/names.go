package intake

import (
	"io"

	"github.com/belfry-run/belfry/app/intake/internal/base"
	"github.com/belfry-run/belfry/app/intake/internal/crontab"
	"github.com/belfry-run/belfry/app/intake/internal/gatus"
	"github.com/belfry-run/belfry/app/intake/internal/kuma"
)

// Limits of a file.
const (
	MaxSize   = base.MaxSize   // bytes
	MaxBackup = base.MaxBackup // bytes of a backup of Uptime Kuma, which is verbose
	MaxLines  = base.MaxLines  // lines of a crontab, CronJobs, or monitors
	MaxFiles  = gatus.MaxFiles // files of one configuration of Gatus
)

type (
	// Options sets facts that a file does not contain. The zero value works.
	Options = base.Options
	// Format is the kind of a crontab.
	Format = base.Format
	// Result is the result of reading a file.
	Result = base.Result
	// Line is one entry of a file.
	Line = base.Line
	// File is one of several files of a configuration.
	File = gatus.File
)

// A line of a system crontab (/etc/crontab, /etc/cron.d) names a user before
// its command; one of a user's crontab (crontab -e) does not.
const (
	FormatUser   = base.FormatUser
	FormatSystem = base.FormatSystem
)

// Crontab reads a whole crontab of Vixie cron and its descendants (cronie,
// Debian, the BSDs). An error is about the file as a whole: it is too large, or
// it is unclear whether its lines name users. Other faults are in the lines.
//
// Variables apply from the line that sets them. CRON_TZ changes the times, TZ
// only the command, as in cronie. An unescaped % ends the command; the rest is
// its standard input, with one line for each further %.
func Crontab(r io.Reader, o Options) (Result, error) { return crontab.Crontab(r, o) }

// CronJobs reads CronJobs of Kubernetes (batch/v1) from YAML or JSON: one
// document, several, and lists as kubectl get writes them. Objects of other
// kinds are left out with a note. An error is about the file as a whole: it is
// too large, or it holds no CronJob.
//
// Belfry runs a command on a worker, not a container in a cluster. So an entry
// becomes the command of its single container, with notes about the settings of
// the container.
func CronJobs(r io.Reader, o Options) (Result, error) { return crontab.CronJobs(r, o) }

// Gatus reads the configuration of Gatus (config.yaml): its endpoints and
// external endpoints become monitors, the providers of its alerting channels,
// the alerts of its endpoints alert rules, and its maintenance windows. An
// error is about the file as a whole: it is too large, or it holds no endpoint.
//
// Endpoints keep the thresholds of their alerts. As in Gatus, a failed endpoint
// is checked again only after its interval. A condition that Belfry cannot
// express is a note; the monitor has the other conditions. Variables such as
// ${TOKEN} have the values of [Options.Env]. An endpoint with an unset variable
// is a fault or, if no values are given at all, a note. In a channel, an unset
// variable becomes the mark of an unchanged secret, so that an existing channel
// keeps its own.
func Gatus(r io.Reader, o Options) (Result, error) { return gatus.Gatus(r, o) }

// GatusFiles is [Gatus] for a configuration of several files, as Gatus reads a
// folder: endpoints of one file may use the channels of another. Lines have the
// name of their file.
func GatusFiles(files []File, o Options) (Result, error) { return gatus.GatusFiles(files, o) }

// Kuma reads a backup of Uptime Kuma 1 (Settings, Backup, Export), and the list
// of monitors that the API of Uptime Kuma 2 answers with, alone or as the
// monitorList of an object with a notificationList beside it. Its monitors
// become monitors, its notifications channels, and which of them a monitor uses
// alert rules. An error is about the file as a whole: it is too large, it is
// not JSON, or it holds no monitor.
//
// Secrets in the file are kept in the definitions.
func Kuma(r io.Reader, o Options) (Result, error) { return kuma.Kuma(r, o) }
