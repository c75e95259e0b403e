#!/bin/sh
# The smallest runtime: one agent, one todo, one paid turn. It is run by the test
# suite as it stands, with and without a running loopx-bot.
#
#   custom-runtime.sh [GOAL [AGENT]]
#
# LOOPX_HOME says which workspace; the loopx command must be on PATH.
set -eu
goal=${1:-demo}
agent=${2:-builder}
turn="turn-$(date +%s)-$$"

# field NAME reads one string of a flat JSON answer.
field() { sed -n 's/.*"'"$1"'":"\([^"]*\)".*/\1/p'; }

# Once for a goal. The same command again would be refused: goal_exists.
loopx goal create --goal-id "$goal" --objective "Greet the world" --agent-id "$agent" --json

# 1. Look around.
loopx status --goal-id "$goal" --json

# 2. Put work on the plan. [P1] is its priority.
todo=$(loopx todo add --goal-id "$goal" --text "[P1] Write greeting.txt" --json | field todo_id)

# 3. Take it. Exactly one agent gets it; another one gets lease_held and exit code 4.
loopx todo claim --goal-id "$goal" --todo-id "$todo" --agent-id "$agent" --json

# 4. Ask. The answer is stored under the turn's id: asking again gives the same one.
answer=$(loopx quota should-run --goal-id "$goal" --agent-id "$agent" --turn-instance-id "$turn" --json)
case $answer in
*'"should_run":true'*) ;;
*)
	echo "nothing to do: $(echo "$answer" | field reason)"
	exit 0
	;;
esac
test "$(echo "$answer" | field todo_id)" = "$todo"

# 5. Do the work, and verify it. This is the agent's part.
work=$(mktemp -d)
echo "Hello, world" >"$work/greeting.txt"
grep -q "Hello" "$work/greeting.txt"
rm -r "$work"

# 6. Complete it with evidence, and say what follows.
loopx todo complete --goal-id "$goal" --todo-id "$todo" --agent-id "$agent" --turn-instance-id "$turn" \
	--evidence "check: greeting.txt holds the greeting" --no-follow-up --json

# 7. Write the outcome back.
loopx refresh-state --goal-id "$goal" --agent-id "$agent" --turn-instance-id "$turn" \
	--delivery-outcome primary_goal_outcome --json

# 8. Pay for the turn. Without --execute this only shows what would be paid.
loopx quota spend-slot --goal-id "$goal" --agent-id "$agent" --turn-instance-id "$turn" --execute --json

# 9. Nothing is left: the decision says so, and that is no error.
loopx quota should-run --goal-id "$goal" --agent-id "$agent" --json
