package alert

// Closing answers the notifications that close what was sent of a monitor whose checks have ended, each made from n. A muted
// monitor closes an outage alone. The incident of n is that of the outage; the others have none.
func Closing(n Notification, told []NotificationType, muted bool) (all []Notification) {
	for _, begin := range told {
		if muted && begin != NotificationDown {
			continue
		}
		of := n
		of.Ends, of.Code = begin, ""
		of.Text = "This closes the alert that it " + wasTold[begin] + ". It was not seen to recover."
		if begin != NotificationDown {
			of.Incident = 0
		}
		all = append(all, of)
	}
	return all
}

// wasTold is what notifications say that begin something.
var wasTold = map[NotificationType]string{
	NotificationDown: "is down", NotificationDegraded: "is degraded", NotificationSlow: "is slow",
	NotificationFlapping: "changes too often", NotificationStale: "cannot be checked",
}
