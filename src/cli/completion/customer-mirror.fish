# Completion of customer-mirror for fish: customer-mirror completion fish | source
function __customer_mirror_complete
    set -l words (commandline --tokenize --cut-at-cursor --current-process)
    set -l current (commandline --cut-at-cursor --current-token)
    set -l program $words[1]
    set -e words[1]
    set -l found ($program complete -- $words "$current" 2>/dev/null)
    if test "$found" = ':files'
        set -l before (string match --regex -- '^--[^=]*=' "$current")
        for file in (__fish_complete_path (string replace --regex -- '^--[^=]*=' '' "$current"))
            echo "$before$file"
        end
    else
        printf '%s\n' $found
    end
end
complete --command customer-mirror --no-files --arguments '(__customer_mirror_complete)'
