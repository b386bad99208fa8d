package program

// WithoutQuota makes an executor one that may not mount.
func WithoutQuota(e *Executor) { e.quotas = false }
