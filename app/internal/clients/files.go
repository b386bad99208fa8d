package clients

// Fit is most, or fewer where this process may not open as many files: a quarter of those stays for the database, for what
// runs and for what it asks. Without that, visitors alone could keep a node from all of it.
func Fit(most int) int {
	if files := openFiles(); files > 0 {
		return max(1, min(most, files-files/4))
	}
	return most
}
