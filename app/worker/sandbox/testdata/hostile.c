/* What a Go program cannot do: other system call tables, first threads that end,
 * children without an exit signal, and forks that leave their parent at once. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Whatever fails to kill it, it ends by itself. */
static time_t end;

static void stay(void)
{
	for (int s = 1; s < 32; s++)
		signal(s, SIG_IGN);
	while (time(NULL) < end)
		sleep(1);
	_exit(0);
}

static void *thread(void *unused)
{
	printf("ready\n");
	fflush(stdout);
	stay();
	return unused;
}

/* The kernel of some virtual machines has no 32-bit calls: to make one is a fault there, before any filter. */
static void absent(int fault)
{
	(void)fault;
	raise(SIGSYS);
}

/* The filter knows the numbers of one table. */
static int int80(void)
{
#ifdef __x86_64__
	int pid;
	signal(SIGSEGV, absent);
	__asm__ volatile("int $0x80" : "=a"(pid) : "a"(20) : "memory");
	printf("ESCAPED: int 0x80 says %d\n", pid);
#else
	raise(SIGSYS);
#endif
	return 0;
}

/* To a reader of /proc the process is a zombie. */
static int leader(void)
{
	pthread_t t;
	pthread_create(&t, NULL, thread, NULL);
	pthread_exit(NULL);
}

/* No parent is told when it ends, and wait does not see it by default. */
static int silent(void)
{
	if (syscall(SYS_clone, 0, 0, 0, 0, 0) == 0) {
		setsid();
		thread(NULL);
	}
	stay();
	return 0;
}

/* Always somewhere else: whoever looks for it finds the one before. */
static int comet(void)
{
	printf("ready\n");
	fflush(stdout);
	if (fork() > 0)
		return 0;
	while (time(NULL) < end) {
		setsid();
		if (fork() != 0)
			_exit(0);
	}
	return 0;
}

int main(int argc, char **argv)
{
	end = time(NULL) + 120;
	const char *attack = argc > 1 ? argv[1] : "";
	if (!strcmp(attack, "int80"))
		return int80();
	if (!strcmp(attack, "leader"))
		return leader();
	if (!strcmp(attack, "silent"))
		return silent();
	if (!strcmp(attack, "comet"))
		return comet();
	return 2;
}
