package kernel

// A row is sound when the parts that depend on each other are there. One that is
// not was damaged: nothing may be concluded from it, and nothing may fall over it.
type soundness interface{ sound() bool }

func (v *Goal) sound() bool      { return v.ID != "" && v.WindowMS > 0 }
func (v *Agent) sound() bool     { return v.ID != "" }
func (v *Session) sound() bool   { return v.ID != "" }
func (v *Claim) sound() bool     { return v.Todo != "" }
func (v *Evidence) sound() bool  { return v.ID != "" }
func (v *Turn) sound() bool      { return v.ID != "" }
func (v *Run) sound() bool       { return v.Seq > 0 }
func (v *Spend) sound() bool     { return v.Seq > 0 && v.Slots > 0 }
func (v *Counts) sound() bool    { return *v != Counts{} }
func (v *Person) sound() bool    { return v.ID != "" }
func (v *Principal) sound() bool { return v.Person != "" }
func (v *LinkCode) sound() bool  { return v.Digest != "" }
func (v *Grant) sound() bool     { return v.ID != "" && v.Expires > 0 }
func (v *Away) sound() bool      { return v.Person != "" }
func (v *Head) sound() bool      { return v.Seq > 0 && v.Hash != "" }

func (v *pruneRow) sound() bool { return v.Upto > 0 }
func (v *Base) sound() bool {
	return v.Seq > 0 && v.Hash != "" && v.Digest != "" && v.Chunks > 0 && v.Rows > 0
}
func (v *Pruned) sound() bool { return v.Upto > 0 }

func (v *Reservation) sound() bool { return v.Agent != "" }
func (v *Owed) sound() bool        { return v.ID != "" && v.Agent != "" }
func (v *Obligation) sound() bool  { return v.ID != "" && v.Agent != "" && v.Cause != "" }
func (v *keyRow) sound() bool      { return v.Payload != "" && v.Seq > 0 }

func (v *Todo) sound() bool {
	switch v.Status {
	case TodoOpen, TodoDeferred:
	case TodoDone:
		if v.Done == nil {
			return false
		}
	case TodoSuperseded:
		if v.SupersededBy == "" {
			return false
		}
	default:
		return false
	}
	return v.ID != "" && (v.Class != Monitor || v.Watch != nil)
}

func (v *Gate) sound() bool {
	switch v.Status {
	case GateOpen, GateWithdrawn:
		return v.ID != "" && v.Answer == nil
	case GateAnswered:
		return v.ID != "" && v.Answer != nil
	}
	return false
}

func (v *Record) sound() bool {
	for i := range v.Events {
		if !v.Events[i].sound() {
			return false
		}
	}
	return v.Seq > 0
}

func (e *Event) sound() bool {
	return e.Type != "" && (e.Type != TodoCompleted || e.Todo != nil && e.Todo.Done != nil) &&
		(e.GoalRow == nil || e.GoalRow.sound()) && (e.Agent == nil || e.Agent.sound()) && (e.Session == nil || e.Session.sound()) &&
		(e.Todo == nil || e.Todo.sound()) && (e.Claim == nil || e.Claim.sound()) && (e.Gate == nil || e.Gate.sound()) &&
		(e.Evidence == nil || e.Evidence.sound()) && (e.Turn == nil || e.Turn.sound()) && (e.Run == nil || e.Run.sound()) &&
		(e.Reservation == nil || e.Reservation.sound()) && (e.Pruned == nil || e.Pruned.sound()) && (e.Base == nil || e.Base.sound()) && (e.Spend == nil || e.Spend.sound()) && (e.Person == nil || e.Person.sound()) &&
		(e.Grant == nil || e.Grant.sound()) && (e.Away == nil || e.Away.sound()) && (e.Principal == nil || e.Principal.sound()) && (e.LinkCode == nil || e.LinkCode.sound()) &&
		(e.Role == nil || e.Role.sound()) && (e.Binding == nil || e.Binding.sound()) &&
		(e.Cadence == nil || e.Cadence.sound()) && (e.Owed == nil || e.Owed.sound()) && (e.Replan == nil || e.Replan.sound())
}
