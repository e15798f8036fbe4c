package exercise

// ParcelPrice returns the price of a parcel in cents: 300 up to 500 g, and 90 more for each further 500 g begun.
func ParcelPrice(grams int) int {
	return 0
}
