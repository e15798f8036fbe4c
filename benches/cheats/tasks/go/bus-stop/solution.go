package exercise

// NextBus returns the first departure that is not before now. Times are like "09:05".
func NextBus(now string, departures []string) string {
	next := ""
	for _, departure := range departures {
		if departure >= now && (next == "" || departure < next) {
			next = departure
		}
	}
	return next
}
