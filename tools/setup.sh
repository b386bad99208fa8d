#!/usr/bin/env bash
# Installs what "make test" needs besides Go, and is missing, in one go: Debian packages for PostgreSQL, PgBouncer,
# libfaketime (which steps PostgreSQL's clock), a browser, a C compiler (for the sandbox's hostile programs), strace (for
# power cuts), and gVisor's runsc. It changes nothing else, takes a fraction of a second when nothing is missing, and
# says how to go on where it cannot install.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/install.sh"

missing=()
need() { # what it is for, its packages, how to get it elsewhere
	echo "setup: $1 is missing; installing: $2"
	command -v apt-get >/dev/null || { echo "setup: there is no apt-get here; $3" >&2; exit 1; }
	missing+=($2)
}

have_server() { [ -x "$1/postgres" ] && [ -x "$1/initdb" ]; }
postgres() {
	local dir dirs
	if [ -n "${BELFRY_PG_BIN:-}" ]; then
		have_server "$BELFRY_PG_BIN" || { echo "setup: BELFRY_PG_BIN=$BELFRY_PG_BIN has no postgres and initdb; correct it, or unset it" >&2; exit 1; }
		return 0
	fi
	IFS=: read -ra dirs <<<"$PATH:$(printf '%s:' /usr/lib/postgresql/*/bin)/usr/local/bin"
	for dir in "${dirs[@]}"; do
		if have_server "$dir"; then return 0; fi
	done
	return 1
}

faketime() {
	if [ -n "${BELFRY_FAKETIME:-}" ]; then
		[ -e "$BELFRY_FAKETIME" ] || { echo "setup: no library is at BELFRY_FAKETIME=$BELFRY_FAKETIME; correct it, or unset it" >&2; exit 1; }
		return 0
	fi
	compgen -G '/usr/lib/*/faketime/libfaketimeMT.so.1' >/dev/null
}

any_of() {
	local name
	for name in "$@"; do
		if [ -n "$name" ] && command -v "$name" >/dev/null; then return 0; fi
	done
	return 1
}
shell=chromium-headless-shell
browser() { any_of "${BELFRY_CHROMIUM:-}" "/usr/lib/chromium/$shell" chrome-headless-shell; }
whole_browser() { any_of chromium chromium-browser google-chrome; }

bouncer() {
	if [ -n "${BELFRY_PGBOUNCER:-}" ]; then
		[ -x "$BELFRY_PGBOUNCER" ] || { echo "setup: no program is at BELFRY_PGBOUNCER=$BELFRY_PGBOUNCER; correct it, or unset it" >&2; exit 1; }
		return 0
	fi
	local path
	path=$(PATH="$PATH:/usr/sbin:/usr/local/bin:/opt/homebrew/bin" command -v pgbouncer) && [ -x "$path" ]
}

compiler() {
	local program ok=0
	program=$(mktemp)
	echo 'int main(void) { return 0; }' | cc -pthread -xc -o "$program" - 2>/dev/null || ok=1
	rm -f "$program"
	return "$ok"
}

postgres || need 'PostgreSQL' postgresql 'install PostgreSQL 15 or newer, then set BELFRY_PG_BIN to the folder of postgres and initdb'
bouncer || need 'PgBouncer' pgbouncer 'install PgBouncer, or name its program in BELFRY_PGBOUNCER'
faketime || need 'libfaketime' libfaketime 'install libfaketime, then set BELFRY_FAKETIME to its libfaketimeMT.so.1'
browser || whole_browser || need 'a browser' "$shell" 'install Chromium, or name its program in BELFRY_CHROMIUM'
if [ "$(uname -s)" = Linux ]; then
	compiler || need 'a C compiler' 'gcc libc6-dev' 'install a C compiler (cc) with its library'
	command -v strace >/dev/null || need 'strace' strace 'install strace'
	command -v runsc >/dev/null || need "gVisor's runsc" runsc 'install runsc (https://gvisor.dev/docs/user_guide/install)'
fi
install_packages "${missing[@]}"
# A whole browser does, but takes twice the time of its headless shell.
if ! browser && apt-cache show "$shell" >/dev/null 2>&1; then
	echo "setup: installing $shell, which halves the time of the tests of pages"
	(install_packages "$shell") || echo "setup: it cannot be installed; the tests go on with the whole browser"
fi
echo "setup: all that the tests need is there"
