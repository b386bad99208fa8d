// Package sandbox runs programs of strangers: unread bytes,
// on a machine that has secrets.
//
// # Tiers
//
// Machines differ in what they allow: root or not, which kernel, which container
// around it. So isolation comes in tiers, and [Open] finds out which of them
// works here by doing it in a child, not by reading versions:
//
//	none        limits, no new privileges, a clean environment, a session of its own
//	user        + a user id that nothing else on the machine has
//	confined    + Landlock and seccomp: only the files it was given, no way to other processes
//	namespaces  + its own root (read-only), /tmp (of limited size), processes, network, IPC, host name
//	gvisor      + a kernel of its own in user space, by runsc, where [Options.Runsc] points to it
//
// A run uses every layer that works. Its minimum is
// [Spec.Min] and [Spec.Need]; below that it is refused, never weakened.
// [Applied] says what was really done, and is told by the process that did it.
// Control groups belong to no tier: they limit memory, processes and CPU and
// make killing certain wherever the worker may create them.
//
// # What it guarantees
//
// Once [Run.Wait] has returned, no process of the run is left, nor a control
// group, a mount or a temporary folder. This also holds for what moved to
// another session or was orphaned, and from tier user on against programs
// which fight it. When the worker is killed with SIGKILL, the kernel (namespaces) or the
// run's own init (below) ends the program; the next [Open], or the next
// run in the same slot, clears away the rest.
//
// With the network, programs in the kernel judge every packet of the run's
// control group by its destination, until the group is gone: also when the
// worker dies first. See [Spec.Reach].
//
// A fault of the setting up is a [Fault], returned by [Sandbox.Start], and
// never looks like an exit code of the program.
//
// # How it works
//
// The worker starts itself again, twice. The first copy is the run's init: it
// starts the second, reaps, passes signals on, and kills everything at the end,
// when it is told to or when the worker is gone. The second copy sets itself
// up (mounts, control group, limits, user, capabilities, Landlock, seccomp)
// and becomes the program. In the copies [Init] does all that and never
// returns, so it must be the first thing that main does:
//
//	func main() {
//		sandbox.Init()
//		...
//	}
//
// A test binary calls it first in TestMain.
//
// # Around a run
//
// [Inspect] and [Spec.Preflight] say in words what keeps a program from
// starting. [Run.Stop] asks it to end and then ends it. [scratch.Outputs] reads what it left
// in a folder, where everything but plain files is a trick until proven
// otherwise, and [scratch.Remove] removes that folder whatever it did to it.
//
// # What it relies on
//
// The folder of [Options.StateDir] belongs to the worker alone. The user ids of
// [Options.UIDBase] belong to no user. A program in tier none runs as the worker's user and can
// do to the worker whatever that user can; so the tier is for programs that are
// trusted. Landlock does not keep modes and times of files from a program of
// the worker's own user, which there is at tier confined without root.
//
// Of a writable folder only the bytes of each file are limited. The whole is bounded by
// [scratch.Bound], or [scratch.Watch] where that does not work. Kernel faults are beyond all tiers but
// gvisor.
package sandbox
