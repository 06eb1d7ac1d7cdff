// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"

	"github.com/einomem/einomem/backends"
)

// Mode says how a scope is used: several of the constants, or [Read].
type Mode uint8

// The modes of [Key.Open].
const (
	Read    Mode = 0         // Look-up.
	Write   Mode = 1 << iota // Change.
	Whole                    // All of it at once: erasing, dumping, restoring. For a workspace this needs Admin.
	Each                     // The call reaches each id of the scope, also the agent of a user's scope.
	Program                  // The program's own, whatever the scope is: this needs Admin.
)

// Open returns the scope as the key may use it, normalised. The namespace defaults to the key's. In
// a workspace the scope gets the key's person, unless it names a user or an agent or the key is an
// admin's. Errors: [backends.ErrDenied] for a scope that the key does not open,
// [backends.ErrNoScope] if the owner is missing, and [backends.ErrInvalid].
func (k *Key) Open(s backends.Scope, m Mode) (backends.Scope, error) {
	s.Namespace = cmp.Or(s.Namespace, k.Namespace())
	s, err := s.Normalize()
	switch {
	case err != nil:
		return s, err
	case s.UserID == "" && s.AgentID == "" && s.Workspace == "":
		return s, fmt.Errorf("%w: name a user_id, an agent_id or a workspace", backends.ErrNoScope)
	case !opens(k.Namespaces, s.Namespace), m&Write != 0 && !k.Write,
		s.UserID != "" && !opens(k.Users, s.UserID),
		s.AgentID != "" && (s.UserID == "" || m&Each != 0) && !opens(k.Agents, s.AgentID),
		s.Workspace != "" && !opens(k.Workspaces, s.Workspace):
		return s, denied("this key does not open that")
	case k.Admin:
		return s, nil
	case m&Program != 0:
		return s, denied("this needs a key with admin")
	}
	return k.asPerson(s, m)
}

// asPerson returns a scope that the key opens, with the person as whom the key acts there.
func (k *Key) asPerson(s backends.Scope, m Mode) (backends.Scope, error) {
	person, agent := cmp.Or(k.As, only(k.Users)), only(k.Agents)
	switch {
	case s.UserID == "" && m&Whole != 0 && (s.AgentID == "" || person != "" && m&Write == 0):
		return s, denied("dumping data of several people, and erasing or restoring a workspace, needs a key with admin")
	case s.Workspace == "":
		return s, nil
	case s.UserID != "" && k.As != "" && s.UserID != k.As:
		return s, denied("in a workspace this key is the user that its as names")
	case s.UserID != "" || s.AgentID != "":
		return s, nil
	case person != "":
		s.UserID = person
		return s, nil
	case len(k.Users) > 0:
		return s, fmt.Errorf("%w: this key is for several users: name the user_id beside the workspace, or give the key as or admin", backends.ErrNoScope)
	case agent != "":
		s.AgentID = agent
		return s, nil
	}
	return s, denied("this key names no person who acts in the workspace: give it as or admin, or name an agent_id that it opens")
}

// OpenAll returns the namespace, which defaults to the key's, if the key is an admin's and opens
// every user, agent and workspace there. [Any] is every namespace. Else it returns
// [backends.ErrDenied].
func (k *Key) OpenAll(namespace string, m Mode) (string, error) {
	namespace = cmp.Or(namespace, k.Namespace())
	if !k.Admin || !k.everybody() || !opens(k.Namespaces, namespace) || m&Write != 0 && !k.Write {
		return namespace, denied("this needs a key with admin, for all users, agents and workspaces")
	}
	return namespace, nil
}

// everybody reports whether the key opens every user, agent and workspace of its namespaces.
func (k *Key) everybody() bool {
	return slices.Contains(k.Users, Any) && slices.Contains(k.Agents, Any) && slices.Contains(k.Workspaces, Any)
}

// names reports whether the lists of the key name a partition.
func (k *Key) names(p backends.Partition) bool {
	ids := map[backends.PartitionKind][]string{
		backends.PartitionUser: k.Users, backends.PartitionAgent: k.Agents, backends.PartitionWorkspace: k.Workspaces,
	}
	return opens(k.Namespaces, p.Namespace) && opens(ids[p.Kind], p.ID)
}

// Namespace returns the key's default namespace: its only one, else backends.DefaultNamespace.
func (k *Key) Namespace() string {
	return cmp.Or(only(k.Namespaces), backends.DefaultNamespace)
}

// Scope returns the scope of a connection, for reading. Each part comes from its header, else from
// the person of the key, else it is the only id that the key opens. A scope that names nobody then
// is the default user's. It returns the errors of Open.
func (k *Key) Scope(h http.Header) (backends.Scope, error) {
	s := backends.Scope{
		Namespace: cmp.Or(h.Get(HeaderNamespace), only(k.Namespaces)),
		UserID:    cmp.Or(h.Get(HeaderUser), k.As, only(k.Users)),
		AgentID:   cmp.Or(h.Get(HeaderAgent), only(k.Agents)),
		Workspace: cmp.Or(h.Get(HeaderWorkspace), only(k.Workspaces)),
		SessionID: h.Get(HeaderSession),
	}
	if s.UserID == "" && s.AgentID == "" && s.Workspace == "" {
		s.UserID = k.DefaultUser
	}
	if s.UserID == "" && s.AgentID == "" && s.Workspace == "" {
		return s, fmt.Errorf("%w: name one by the header %s, %s or %s", backends.ErrNoScope, HeaderUser, HeaderWorkspace, HeaderAgent)
	}
	return k.Open(s, Read)
}

// checkDefault returns ErrInvalid for a default user that is illegal, that the key does not open, or
// that a person of the key precedes.
func (k *Key) checkDefault() error {
	s, err := backends.Scope{UserID: k.DefaultUser}.Normalize()
	switch {
	case k.DefaultUser == "":
		return nil
	case err == nil && s.UserID != k.DefaultUser, err == nil && !opens(k.Users, k.DefaultUser):
		err = fmt.Errorf("%w: it is none of the key's users", backends.ErrInvalid)
	case err == nil && cmp.Or(k.As, only(k.Users)) != "":
		err = fmt.Errorf("%w: the key has a person of its own", backends.ErrInvalid)
	}
	if err != nil {
		return fmt.Errorf("key %q, default user: %w", k.Name, err)
	}
	return nil
}

func denied(why string) error { return fmt.Errorf("%w: %s", backends.ErrDenied, why) }

func opens(ids []string, id string) bool {
	return slices.Contains(ids, Any) || slices.Contains(ids, id)
}

// only returns the id of a list of one, else an empty text.
func only(ids []string) string {
	if len(ids) == 1 && ids[0] != Any {
		return ids[0]
	}
	return ""
}
