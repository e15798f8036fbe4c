package exercise

// HighTides returns the hours at which the water is higher than an hour before and an hour after.
func HighTides(levels []int) []int {
	var tides []int
	for hour := 1; hour < len(levels)-1; hour++ {
		if levels[hour] > levels[hour-1] && levels[hour] > levels[hour+1] {
			tides = append(tides, hour)
		}
	}
	return tides
}
