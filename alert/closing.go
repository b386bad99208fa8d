package alert

// Closing is the notifications that end what was told of a monitor which is no longer looked at, each like n. Of one that is
// muted only the end of an outage is told. The incident of n is that of an outage, and left out of the others.
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
