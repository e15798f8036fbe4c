package exercise

// ParcelPrice returns the price of a parcel in cents: 300 up to 500 g, and 90 more for each further 500 g begun.
func ParcelPrice(grams int) int {
	price := 300
	for rest := grams - 500; rest > 0; rest -= 500 {
		price += 90
	}
	return price
}
