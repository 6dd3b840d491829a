//! The command line of a measurement.

use std::path::Path;

/// Flags that say where things are and how results are shown, with the number of their values. They do not change what is measured.
const WITHOUT_EFFECT: [(&str, usize); 3] = [("--dir", 1), ("--reuse", 0), ("--json", 0)];
/// Flags with the path of a file, whose folder says nothing.
const OF_FILES: [&str; 1] = ["--keys"];

/// What was measured, as it is typed: `arguments` without folders of this machine and without flags for the output.
pub fn command_line(program: &str, arguments: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut line = vec![program.to_owned()];
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let (flag, value) =
            argument.split_once('=').map_or((&*argument, None), |(flag, value)| (flag, Some(value)));
        if let Some((_, values)) = WITHOUT_EFFECT.iter().find(|(known, _)| *known == flag) {
            arguments.by_ref().take(values.saturating_sub(usize::from(value.is_some()))).for_each(drop);
        } else if OF_FILES.contains(&flag) {
            let path = value.map(str::to_owned).or_else(|| arguments.next()).unwrap_or_default();
            let name = Path::new(&path).file_name().unwrap_or_default().to_string_lossy().into_owned();
            line.extend([flag.to_owned(), name]);
        } else {
            line.push(argument);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_left_out() {
        let typed = "compare --dir /a/b --reuse --records 10 --configs bloom:4 --json --keys /c/d.txt --dir=/e --seed 3 --keys=/f/g";
        let line = command_line("springbloom", typed.split(' ').map(str::to_owned));
        assert_eq!(
            line.join(" "),
            "springbloom compare --records 10 --configs bloom:4 --keys d.txt --seed 3 --keys g"
        );
    }
}
