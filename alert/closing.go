package alert

// Closing returns the notifications that close the problems told of a monitor whose checks have ended. Each is a copy of n. A
// muted monitor closes only an outage. The incident of n belongs to the outage; the other notifications have none.
func Closing(n Notification, told []NotificationType, muted bool) (all []Notification) {
	for _, begin := range told {
		if muted && begin != NotificationDown {
			continue
		}
		of := n
		of.Ends, of.Code = begin, ""
		of.Text = "This closes the alert that it " + beginTexts[begin] + ". It was not seen to recover."
		if begin != NotificationDown {
			of.Incident = 0
		}
		all = append(all, of)
	}
	return all
}

// beginTexts maps the types that begin a problem to their texts.
var beginTexts = map[NotificationType]string{
	NotificationDown: "is down", NotificationDegraded: "is degraded", NotificationSlow: "is slow",
	NotificationFlapping: "changes too often", NotificationStale: "cannot be checked",
}
