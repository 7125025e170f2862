# fish completion for kwire: kwire --print-completion fish | source
function __kwire_complete
    set -l found (kwire --complete fish (commandline -cp | string collect) 2>/dev/null)
    test -n "$found" && printf '%s\n' $found || __fish_complete_path (commandline -ct)
end
complete -c kwire -f -a '(__kwire_complete)'
