#!/usr/bin/env bash
# Runs the sandbox's tests in a virtual machine with Debian's kernel, where control groups are of version 2 alone and
# nothing else has made any. Software emulation, so it takes a while: app/worker/sandbox/testdata/vm/run.sh -test.run Memory
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../../../../../tools/install.sh"
work=${BELFRY_VM_DIR:-/var/cache/belfry-vm}
mkdir -p "$work"
command -v qemu-system-x86_64 >/dev/null || install_packages qemu-system-x86
if [ ! -d "$work/kernel" ]; then
	package=$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: \(linux-image-.*\)/\1/p' | head -1)
	(cd "$work" && apt-get download "$package" && dpkg -x "$package"_*.deb kernel.new && rm "$package"_*.deb && mv kernel.new kernel)
fi
CGO_ENABLED=0 go build -o "$work/vm" "$here/main.go"
CGO_ENABLED=0 go test -c -o "$work/sandbox.test" "$here/../.."
exec "$work/vm" -kernel "$work/kernel" "$work/sandbox.test" "$@"
