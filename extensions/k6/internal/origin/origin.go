// Package origin finds out where a run came from: the commit in the working directory, and the CI job.
package origin

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"
)

// patience is how long git may take. A run does not wait longer for it.
const patience = 2 * time.Second

// Git is the commit of a working directory.
type Git struct {
	Commit string  `json:"commit"`
	Branch *string `json:"branch"` // nil: HEAD is detached, and no CI names it
	Dirty  *bool   `json:"dirty"`  // tracked files differ from the commit; nil: not known
}

// CI is a job of a CI system.
type CI struct {
	Name string  `json:"name"`
	Job  *string `json:"job"`
	URL  *string `json:"url"` // http or https, without credentials
}

// Of describes the working directory dir and the CI job whose variables getenv has; nil: there is none. It never fails.
func Of(dir string, getenv func(string) string) (*Git, *CI) {
	git := read(dir)
	for _, s := range systems {
		if getenv(s.mark) == "" {
			continue
		}
		// A checkout in a container often belongs to another user, and an image has none: git reads neither.
		if commit := getenv(s.commit); git == nil && commit != "" {
			git = &Git{Commit: commit}
		}
		// CI systems check out a commit, not a branch.
		if git != nil && git.Branch == nil && git.Commit == getenv(s.commit) {
			git.Branch = known(s.branch(getenv))
		}
		return git, &CI{Name: s.name, Job: known(s.job(getenv)), URL: link(s.url(getenv))}
	}
	return git, nil
}

// read asks git, which may be missing.
func read(dir string) *Git {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	// Without a file system monitor, which is a program that the repository names, and without locks: it only reads.
	status := exec.CommandContext(ctx, "git", "--no-optional-locks", "-c", "core.fsmonitor=false",
		"status", "--porcelain=v2", "--branch", "--untracked-files=no", "--ignore-submodules=dirty")
	status.Dir, status.WaitDelay = dir, patience/4
	status.Env = append(os.Environ(), "GIT_NO_LAZY_FETCH=1") // a partial clone asks its server for nothing
	out, err := status.Output()
	if err != nil {
		return nil
	}
	git := &Git{Dirty: new(false)}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		line := lines.Text()
		if commit, is := strings.CutPrefix(line, "# branch.oid "); is {
			git.Commit = commit
		} else if branch, is := strings.CutPrefix(line, "# branch.head "); is && branch != "(detached)" {
			git.Branch = &branch
		} else if !strings.HasPrefix(line, "#") {
			*git.Dirty = true
		}
	}
	if git.Commit == "" || git.Commit == "(initial)" {
		return nil
	}
	return git
}

// system is a CI system, and the variables that it sets. No other variable is read: many are secrets.
type system struct {
	name   string
	mark   string // is set in its jobs
	commit string
	branch func(getenv func(string) string) string
	job    func(getenv func(string) string) string
	url    func(getenv func(string) string) string
}

var systems = []system{
	{ // https://docs.github.com/en/actions/reference/workflows-and-actions/variables
		name: "GitHub Actions", mark: "GITHUB_ACTIONS", commit: "GITHUB_SHA",
		branch: func(getenv func(string) string) string {
			if getenv("GITHUB_REF_TYPE") != "branch" { // a tag
				return ""
			}
			return cmp.Or(getenv("GITHUB_HEAD_REF"), getenv("GITHUB_REF_NAME")) // of a pull request its own branch
		},
		job: func(getenv func(string) string) string {
			return joined(" / ", getenv("GITHUB_WORKFLOW"), getenv("GITHUB_JOB"))
		},
		url: func(getenv func(string) string) string {
			server, repository, id := getenv("GITHUB_SERVER_URL"), getenv("GITHUB_REPOSITORY"), getenv("GITHUB_RUN_ID")
			if server == "" || repository == "" || id == "" {
				return ""
			}
			return joined("/attempts/", server+"/"+repository+"/actions/runs/"+id, getenv("GITHUB_RUN_ATTEMPT"))
		},
	},
	{ // https://docs.gitlab.com/ci/variables/predefined_variables
		name: "GitLab CI", mark: "GITLAB_CI", commit: "CI_COMMIT_SHA",
		branch: func(getenv func(string) string) string {
			return cmp.Or(getenv("CI_COMMIT_BRANCH"), getenv("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME"))
		},
		job: func(getenv func(string) string) string { return getenv("CI_JOB_NAME") },
		url: func(getenv func(string) string) string { return getenv("CI_JOB_URL") },
	},
	{ // https://www.jenkins.io/doc/book/pipeline/jenkinsfile/#using-environment-variables
		name: "Jenkins", mark: "JENKINS_URL", commit: "GIT_COMMIT",
		branch: func(getenv func(string) string) string {
			return cmp.Or(getenv("CHANGE_BRANCH"), getenv("BRANCH_NAME"), strings.TrimPrefix(getenv("GIT_BRANCH"), "origin/"))
		},
		job: func(getenv func(string) string) string {
			return joined(" #", getenv("JOB_NAME"), getenv("BUILD_NUMBER"))
		},
		url: func(getenv func(string) string) string { return getenv("BUILD_URL") },
	},
}

// joined is both, or the one that is not empty.
func joined(separator, a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + separator + b
}

func known(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// link is an address that a page may link to. It leaves out what may be secret.
func link(address string) *string {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return new(u.String())
}
