

func bootID() string { return "" }
