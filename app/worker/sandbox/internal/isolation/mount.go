package isolation

import (
	"strings"
)

// Mount is a file or folder that the program sees.
type Mount struct {
	Source string // on the machine
	// Target is where the program sees it. Default: Source. Anything else needs
	// tier namespaces.
	Target string
}

// Inside tells if a path is in a folder or is it.
func Inside(file, folder string) bool {
	return file == folder || strings.HasPrefix(file, folder+"/")
}
