package worker

// signal wakes a listener, without waiting; several wake-ups before it
// looks are one.
func signal(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}
