package delivery

// signal wakes a listener and never blocks. Several signals before the listener
// reads count as one.
func signal(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}
