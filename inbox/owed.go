package inbox

// owe notes with the kernel that an agent's next turn begins with this message.
func (m *Mail) owe(*Delivery) error { return nil }

// release takes that note back once nothing waits for the agent any more.
func (m *Mail) release(*Delivery) error { return nil }
