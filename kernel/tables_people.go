package kernel

import "loopx/kernel/store"

// applyPeople makes true what an event says of people, their roles and the
// places they talk in.
func applyPeople(t *tables, e *Event) {
	if v := e.Person; v != nil {
		t.put(v, tblPerson, v.ID)
	}
	if v := e.Principal; v != nil {
		applyPrincipal(t, v)
	}
	if v := e.LinkCode; v != nil {
		t.put(v, tblLinkCode, v.Digest)
	}
	if v := e.Role; v != nil {
		if v.State == RoleGone {
			t.del(tblRole, v.Goal, v.Person)
			t.del(tblRoleBack, v.Person, v.Goal)
		} else {
			t.put(v, tblRole, v.Goal, v.Person)
			t.mark("", tblRoleBack, v.Person, v.Goal)
		}
	}
	if v := e.Binding; v != nil {
		applyBinding(t, v, e.Type == BindingRemoved)
	}
}

// applyPrincipal keeps the accounts of a person findable; an account may pass to
// another person by a new code.
func applyPrincipal(t *tables, v *Principal) {
	account := []string{v.Platform, v.Connection, v.Tenant, v.User}
	if old := t.Principal(v.Platform, v.Connection, v.Tenant, v.User); old != nil && old.Person != v.Person {
		t.del(append([]string{tblPrincipalBack, old.Person}, account...)...)
	}
	key := append([]string{tblPrincipal}, account...)
	t.put(v, key...)
	t.putRaw(store.Key(key...), store.Key(append([]string{tblPrincipalBack, v.Person}, account...)...))
}

func applyBinding(t *tables, v *Binding, removed bool) {
	if old := t.Binding(v.ID); old != nil {
		t.del(tblBindPlace, old.Connection, old.Conversation, old.Thread, old.ID)
		for _, g := range old.Goals {
			t.del(tblBindGoal, g, old.ID)
		}
	}
	if removed {
		t.del(tblBinding, v.ID)
		return
	}
	t.put(v, tblBinding, v.ID)
	t.mark("", tblBindPlace, v.Connection, v.Conversation, v.Thread, v.ID)
	for _, g := range v.Goals {
		t.mark("", tblBindGoal, g, v.ID)
	}
}
