package kernel

import (
	"path"
	"slices"
	"strings"

	"loopx/kernel/store"
)

// Workspace is where a caller works, as its CLI found it. None of it is kept
// but a digest of Root.
type Workspace struct {
	// Root is the top of the working tree, an absolute path without links.
	Root string `json:"root,omitempty"`
	// Repos are the names of its repository: the path of the main working tree
	// and the addresses of the remotes.
	Repos []string `json:"repos,omitempty"`
}

const reposMost = 8

func (w *Workspace) check() error {
	if w == nil {
		return nil
	}
	if len(w.Repos) > reposMost {
		return Errorf(Invalid, "too_many", "a workspace has at most %d names of its repository", reposMost)
	}
	err := checkText("workspace", w.Root, bodyMax, false)
	for _, s := range w.Repos {
		err = firstErr(err, checkText("workspace repository", s, bodyMax, false))
	}
	return err
}

// tree names the working tree in rows without saying where it is.
func (w *Workspace) tree() string {
	if w == nil || w.Root == "" {
		return ""
	}
	return digest(repoName(w.Root))[:16]
}

// repoName brings the ways to write one repository together: host/owner/name for
// addresses, the clean path for folders.
func repoName(s string) string {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "/") {
		return path.Clean(s)
	}
	if _, rest, ok := strings.Cut(s, "://"); ok {
		s = rest
	} else {
		s = strings.TrimPrefix(s, "git:")
		if host, rest, ok := strings.Cut(s, ":"); ok && !strings.Contains(host, "/") {
			s = host + "/" + rest // git@host:owner/name
		}
	}
	host, rest, _ := strings.Cut(s, "/")
	if i := strings.LastIndex(host, "@"); i >= 0 {
		host = host[i+1:]
	}
	return strings.ToLower(host) + "/" + strings.TrimSuffix(strings.TrimSuffix(rest, "/"), ".git")
}

// guarded: what would be delivered writes to the goal's repository, several
// agents may do so, and the caller is not known to be in a tree of its own.
func (s *situation) guarded() bool {
	return s.free != nil && len(s.free.todo.Write) > 0 && s.g.Repo != "" && s.counts.Agents > 1 && s.slot() && !s.monitorFirst() && !s.ownTree()
}

// ownTree: the caller's tree belongs to the goal's repository, is not the main
// one that everybody shares, and no other agent's session works in it.
func (s *situation) ownTree() bool {
	w := s.caller.Workspace
	if w == nil || w.Root == "" {
		return false
	}
	repo, root := repoName(s.g.Repo), repoName(w.Root)
	if root == repo || !slices.ContainsFunc(w.Repos, func(name string) bool { return repoName(name) == repo }) {
		return false
	}
	return !treeTaken(s.r, s.g.ID, s.agent, w.tree())
}

// treeTaken says whether another agent's session was seen in a tree within a day.
func treeTaken(r *Reader, goal, agent, tree string) bool {
	taken := false
	r.scan(under(memberMax, tblTree, goal, tree), func(_, v []byte) bool {
		s := r.Session(goal, string(v))
		taken = s != nil && s.State == "open" && s.Agent != agent && s.Seen+dayMS > r.now
		return !taken
	})
	return taken
}

func (s *situation) repairTree(d *Decision) {
	v := s.free.todo
	d.Kind, d.ShouldRun = "repair", true
	d.State, d.Decision, d.Effective = "eligible", "workspace_guard", "agent_workspace_repair"
	d.Reason = v.ID + " writes to the repository, and this session is not in a working tree of its own"
	d.Contract.User.Notify = "DONT_NOTIFY"
	d.Contract.Agent.Instruction = "Make a working tree for yourself (git worktree add ../TREE -b BRANCH), go there, and ask again. Nothing is paid for this, and nothing may be written before."
	d.Scheduler = s.soon("a working tree is to be made")
}

// applySession keeps which agents work in which tree, and when each open session
// was last seen.
func applySession(t *tables, v *Session) {
	if old := t.Session(v.Goal, v.ID); old != nil {
		if old.Tree != "" {
			t.del(tblTree, v.Goal, old.Tree, old.Agent, v.ID)
		}
		if old.SeenSteady > 0 {
			t.del(tblSeen, v.Goal, store.I64(old.SeenSteady), v.ID)
		}
	}
	if v.SeenSteady > 0 && v.State == "open" {
		t.mark("", tblSeen, v.Goal, store.I64(v.SeenSteady), v.ID)
	}
	t.put(v, tblSession, v.Goal, v.ID)
	if v.Tree != "" && v.State == "open" {
		t.mark(v.ID, tblTree, v.Goal, v.Tree, v.Agent, v.ID)
	}
}
