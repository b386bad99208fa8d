package isolation

import (
	"strings"
)

// Mount is a file or folder that the program sees.
type Mount struct {
	Source string // on the machine
	// Target is the path for the program. Default: Source. Another path needs tier
	// namespaces.
	Target string
}

// Inside reports whether a path is a folder or is in it.
func Inside(file, folder string) bool {
	return file == folder || strings.HasPrefix(file, folder+"/")
}
