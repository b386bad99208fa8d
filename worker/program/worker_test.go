package program_test

func beWorker([]string) int { return 1 }
