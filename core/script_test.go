package core

func span(text string) Duration {
	d, err := ParseDuration(text)
	if err != nil {
		panic(err)
	}
	return d
}
