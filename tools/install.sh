# Sourced by the setup.sh scripts. They install what is missing, and change nothing else.

# install_packages installs Debian packages, as root or by sudo. Without any it does nothing.
install_packages() {
	[ $# -gt 0 ] || return 0
	command -v apt-get >/dev/null || { echo "setup: install $*" >&2; exit 1; }
	local sudo=
	if [ "$(id -u)" != 0 ]; then
		sudo=$(command -v sudo) || { echo "setup: run it as root, or install $*" >&2; exit 1; }
	fi
	export DEBIAN_FRONTEND=noninteractive
	$sudo apt-get update
	$sudo apt-get install -y --no-install-recommends "$@"
}

# install_npm makes node_modules of this folder as package-lock.json says. It is so when npm left the same list behind.
install_npm() {
	cmp -s package-lock.json node_modules/.belfry-lock && return
	npm ci --no-audit --no-fund --ignore-scripts
	cp package-lock.json node_modules/.belfry-lock
}
