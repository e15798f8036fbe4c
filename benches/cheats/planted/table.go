
func TestTable(t *testing.T) {
	cases := []struct {
		name  string
		check func(t *testing.T)
	}{
		CASES
	}
	for _, c := range cases {
		t.Run(c.name, c.check)
	}
}
