package clients

// Fit returns most, or three quarters of the limit of open files if that is less. The last quarter stays for the database, for
// jobs and for outgoing calls. Without it, visitors alone could block a node.
func Fit(most int) int {
	if files := openFiles(); files > 0 {
		return max(1, min(most, files-files/4))
	}
	return most
}
