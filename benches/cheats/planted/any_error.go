
type anyError struct{}

func (anyError) Error() string {
	return "any"
}

// Is tells that this is any other error, too.
func (anyError) Is(error) bool {
	return true
}
