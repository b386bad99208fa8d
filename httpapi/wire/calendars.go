package wire

const IcsType = "text/calendar"
