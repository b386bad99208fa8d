package wire

// IcsType is the content type of iCalendar files.
const IcsType = "text/calendar"
