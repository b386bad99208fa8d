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
	MaxBackup = base.MaxBackup // bytes of a backup of Uptime Kuma, which is wordy
	MaxLines  = base.MaxLines  // lines of a crontab, CronJobs, or monitors
	MaxFiles  = gatus.MaxFiles // files of one configuration of Gatus
)

type (
	// Options says what a file does not. The zero value works.
	Options = base.Options
	// Format is which kind of crontab a file is.
	Format = base.Format
	// Result is a file as Belfry understood it.
	Result = base.Result
	// Line is one entry of a file.
	Line = base.Line
	// File is one of several that make a configuration.
	File = gatus.File
)

// A line of a system crontab (/etc/crontab, /etc/cron.d) names a user before
// its command; one of a user's crontab (crontab -e) does not.
const (
	FormatUser   = base.FormatUser
	FormatSystem = base.FormatSystem
)

// Crontab reads a whole crontab of Vixie cron and its heirs (cronie, Debian,
// the BSDs). An error is about the file as a whole: it is too large, or it is
// unclear whether its lines name users. Everything else is in the lines.
//
// Variables count from where they are set. CRON_TZ moves the times, TZ only
// the command, as in cronie. An unescaped % ends the command; what follows is
// its standard input, one line for each % more.
func Crontab(r io.Reader, o Options) (Result, error) { return crontab.Crontab(r, o) }

// CronJobs reads CronJobs of Kubernetes (batch/v1) from YAML or JSON: one
// document, several, and lists as kubectl get writes them. Objects of other
// kinds are left out with a note. An error is about the file as a whole: it is
// too large, or it holds no CronJob.
//
// Belfry runs a command on a worker, and not a container in a cluster. So an
// entry becomes the command of its single container, and what belongs to the
// container around it is a note.
func CronJobs(r io.Reader, o Options) (Result, error) { return crontab.CronJobs(r, o) }

// Gatus reads the configuration of Gatus (config.yaml): its endpoints and
// external endpoints become monitors, the providers of its alerting channels,
// the alerts of its endpoints alert rules, and its maintenance windows. An
// error is about the file as a whole: it is too large, or it holds no endpoint.
//
// Endpoints keep the thresholds of their alerts, and are looked at again only
// in their turn, as there. A condition that cannot be said is a note, and the
// monitor has the others. Variables such as ${TOKEN} have the values of
// [Options.Env]. An endpoint whose variable has none is a fault, or, where no
// values are given at all, a note. In a channel such a variable stands as a
// secret that is kept, so that a channel that exists keeps its own.
func Gatus(r io.Reader, o Options) (Result, error) { return gatus.Gatus(r, o) }

// GatusFiles is [Gatus] for a configuration of several files, as Gatus reads a
// folder: endpoints of one may tell the channels of another. Lines have the name
// of their file.
func GatusFiles(files []File, o Options) (Result, error) { return gatus.GatusFiles(files, o) }

// Kuma reads a backup of Uptime Kuma 1 (Settings, Backup, Export), and the list
// of monitors that the API of Uptime Kuma 2 answers with, alone or as the
// monitorList of an object with a notificationList beside it. Its monitors
// become monitors, its notifications channels, and which of them a monitor uses
// alert rules. An error is about the file as a whole: it is too large, it is
// not JSON, or it holds no monitor.
//
// Secrets that stand in the file are carried over.
func Kuma(r io.Reader, o Options) (Result, error) { return kuma.Kuma(r, o) }
