// Package sandbox runs untrusted programs on a machine that has secrets.
//
// # Tiers
//
// Machines differ in root access, kernel and surrounding container. So isolation
// has tiers, and [Open] finds out which of them work here by trying them in a
// child, not by reading versions:
//
//	none        limits, no new privileges, a clean environment, a session of its own
//	user        + a user id that nothing else on the machine has
//	confined    + Landlock and seccomp: only the files it was given, no way to other processes
//	namespaces  + its own root (read-only), /tmp (of limited size), processes, network, IPC, host name
//	gvisor      + a kernel of its own in user space, by runsc, where [Options.Runsc] points to it
//
// A run uses every layer that works. [Spec.Min] and [Spec.Need] are its minimum:
// below that it is refused, never weakened. [Applied] is the isolation that was
// actually applied, as reported by the process that applied it. Control groups
// belong to no tier: wherever the worker may create them, they limit memory,
// processes and CPU, and kill all processes reliably.
//
// # Guarantees
//
// Once [Run.Wait] has returned, no process, control group, mount or temporary
// folder of the run is left. This includes processes that moved to another
// session or were orphaned, and from tier user on hostile programs. When the
// worker is killed with SIGKILL, the kernel (with namespaces) or the run's own
// init (without) ends the program. The next [Open], or the next run in the same
// slot, removes the rest.
//
// With the network, eBPF programs in the kernel check the destination of every
// packet of the run's control group, until the group is gone: also if the worker
// dies first. See [Spec.Reach].
//
// A failed setup is a [Fault], returned by [Sandbox.Start], and never looks like
// an exit code of the program.
//
// # Processes
//
// The worker starts itself again, twice. The first copy is the init of the run:
// it starts the second, reaps processes, forwards signals, and kills all
// processes at the end, on request, or when the worker is gone. The second copy
// sets up its isolation (mounts, control group, limits, user, capabilities,
// Landlock, seccomp) and becomes the program. In the copies [Init] does all this
// and never returns, so main must call it first:
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
// [Inspect] and [Spec.Preflight] explain why a program cannot start. [Run.Stop]
// asks it to end, and then kills it. [scratch.Outputs] reads the files that it
// left in a folder, and accepts plain files only. [scratch.Remove] removes that
// folder in any state.
//
// # Requirements and limits
//
// The folder of [Options.StateDir] belongs to the worker alone. The user ids of
// [Options.UIDBase] belong to no user. A program in tier none runs as the
// worker's user, with all rights of that user, so the tier is for trusted
// programs. Landlock does not protect modes and times of files from a program of
// the worker's own user; that is the case at tier confined without root.
//
// In a writable folder only the size of each file is limited. [scratch.Bound]
// limits the whole folder, or [scratch.Watch] if that does not work. Only tier
// gvisor protects against faults of the kernel.
package sandbox
