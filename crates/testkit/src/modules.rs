//! The modules of a crate, and which of them use each other, for tests of its architecture.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// What each module uses, by their paths.
pub type Graph = BTreeMap<String, BTreeSet<String>>;

/// Code by the path of its module, as `tables::databases`, without comments and unit tests. That of `lib.rs` or `main.rs` has none.
pub struct Modules(BTreeMap<String, String>);

impl Modules {
    /// Those of the sources in a folder. Cargo runs the tests of a crate in the crate's folder.
    ///
    /// # Panics
    /// If a file cannot be read.
    pub fn of(src: &Path) -> Self {
        let mut modules = Self(BTreeMap::new());
        let mut only_in_tests = Vec::new();
        modules.add(src, "", &mut only_in_tests);
        modules.0.retain(|module, _| !only_in_tests.contains(module));
        modules
    }

    fn add(&mut self, folder: &Path, module: &str, only_in_tests: &mut Vec<String>) {
        for entry in fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
            let is_source = path.extension().is_some_and(|extension| extension == "rs");
            let module =
                if ["lib", "main", "mod"].contains(&name) { module.to_owned() } else { join(module, name) };
            if path.is_dir() {
                self.add(&path, &module, only_in_tests);
            } else if is_source {
                let code = code(&fs::read_to_string(&path).expect("a source"));
                let tests = code.split("#[cfg(test)]").skip(1).filter_map(|rest| {
                    rest.split_once(';')?.0.trim().rsplit_once("mod ").map(|(_, name)| join(&module, name))
                });
                only_in_tests.extend(tests);
                self.0.entry(module).or_default().push_str(&code);
            }
        }
    }

    /// Modules with their code.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(module, code)| (&**module, &**code))
    }

    /// What each module uses, but for the root of the crate, which uses all, and has what all use. A name that a module hands on is its
    /// owner's.
    pub fn graph(&self) -> Graph {
        let (mut names, mut found) = (BTreeMap::new(), Vec::new());
        for (module, code) in self.iter() {
            for path in paths(code) {
                let from = self.absolute(module, &path.path);
                if let Some(from) = from.as_ref().filter(|_| path.is_imported && path.name != "*") {
                    names.insert(join(module, path.name), from.clone());
                }
                found.push((module, path, from));
            }
        }
        let used =
            found.into_iter().filter(|(_, path, _)| !path.is_handed_on).filter_map(|(module, path, from)| {
                let is_imported = names.contains_key(&join(module, path.path[0]));
                let by_name = is_imported.then(|| join(module, &path.path.join("::")));
                Some((module, from.or(by_name)?))
            });
        let mut graph: Graph = self.iter().map(|(module, _)| (module.to_owned(), BTreeSet::new())).collect();
        for (module, path) in used {
            graph.entry(module.to_owned()).or_default().insert(self.owner(&path, &names));
        }
        graph.remove("");
        for (module, uses) in &mut graph {
            uses.retain(|used| used != module && !used.is_empty());
        }
        graph
    }

    /// Fails unless each layer, a folder or file of the crate's root, uses only those before it in `order`. Returns the graph.
    #[track_caller]
    pub fn require_order(&self, order: &[&str]) -> Graph {
        let place = |module: &str| {
            let layer = module.split("::").next().unwrap_or(module);
            let place = order.iter().position(|known| *known == layer);
            place.unwrap_or_else(|| panic!("{layer} is new: say here what it may use"))
        };
        let graph = self.graph();
        for (module, uses) in &graph {
            for used in uses {
                assert!(place(used) <= place(module), "{module} uses {used}");
            }
        }
        graph
    }

    /// From the root of the crate. `None` for a path into another crate.
    fn absolute(&self, module: &str, path: &[&str]) -> Option<String> {
        let ups = path.iter().take_while(|name| **name == "super").count();
        let above =
            (0..ups).fold(module, |module, _| module.rsplit_once("::").map_or("", |(above, _)| above));
        let (start, rest) = match path[0] {
            "crate" => ("", &path[1..]),
            "super" => (above, &path[ups..]),
            "self" => (module, &path[1..]),
            child => (module, self.0.contains_key(&join(module, child)).then_some(path)?),
        };
        Some(rest.iter().fold(start.to_owned(), |path, name| join(&path, name)))
    }

    fn owner(&self, path: &str, names: &BTreeMap<String, String>) -> String {
        let is_module = |part: &&str| self.0.contains_key(*part);
        let handed_on = prefixes(path)
            .filter(|part| !is_module(part))
            .find_map(|part| names.get(part).map(|from| format!("{from}{}", &path[part.len()..])));
        match handed_on {
            Some(path) => self.owner(&path, names),
            None => prefixes(path).find(is_module).unwrap_or_default().to_owned(),
        }
    }
}

/// The modules that use each other in circles, and those between circles.
pub fn circles(mut graph: Graph) -> Graph {
    loop {
        let before = graph.len();
        let modules: BTreeSet<_> = graph.keys().cloned().collect();
        let used: BTreeSet<_> = graph.values().flatten().cloned().collect();
        graph.retain(|module, uses| used.contains(module) && !uses.is_disjoint(&modules));
        for uses in graph.values_mut() {
            uses.retain(|used| modules.contains(used));
        }
        if graph.len() == before {
            return graph;
        }
    }
}

fn join(module: &str, name: &str) -> String {
    if module.is_empty() { name.to_owned() } else { format!("{module}::{name}") }
}

/// A path and those of the modules around it, the longest first.
fn prefixes(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| path.rsplit_once("::").map(|(above, _)| above))
}

fn code(text: &str) -> String {
    let shipped = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = shipped.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// A path in code.
struct Found<'a> {
    path: Vec<&'a str>,
    /// By which an import makes it known.
    name: &'a str,
    is_imported: bool,
    /// Imported for others.
    is_handed_on: bool,
}

/// All paths of more than one name, and all imports, groups in braces taken apart.
fn paths(code: &str) -> Vec<Found<'_>> {
    let tokens = tokens(code);
    let (mut found, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        let is_imported = at > 0 && tokens[at - 1] == "use";
        let is_handed_on = is_imported && at > 1 && ["pub", ")"].contains(&tokens[at - 2]);
        if is_name(tokens[at]) && (is_imported || tokens.get(at + 1) == Some(&"::")) {
            let trees = tree(&tokens, &mut at, &[]);
            found.extend(trees.into_iter().map(|(path, name)| Found {
                path,
                name,
                is_imported,
                is_handed_on,
            }));
        } else {
            at += 1;
        }
    }
    found
}

/// The paths that begin with `before` and go on at a token, and their names.
fn tree<'a>(tokens: &[&'a str], at: &mut usize, before: &[&'a str]) -> Vec<(Vec<&'a str>, &'a str)> {
    let mut path = before.to_vec();
    while let Some(&token) = tokens.get(*at) {
        *at += 1;
        match token {
            "{" => {
                let mut found = Vec::new();
                while let Some(&token) = tokens.get(*at).filter(|token| **token != "}") {
                    if token == "," { *at += 1 } else { found.extend(tree(tokens, at, &path)) }
                }
                *at += 1;
                return found;
            }
            "self" if !path.is_empty() => (),
            name => path.push(name),
        }
        if tokens.get(*at) != Some(&"::") {
            break;
        }
        *at += 1;
    }
    let name = match tokens.get(*at..*at + 2) {
        Some(["as", name]) => {
            *at += 2;
            name
        }
        _ => path.last().copied().unwrap_or_default(),
    };
    vec![(path, name)]
}

fn is_name(token: &str) -> bool {
    token.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
}

fn tokens(code: &str) -> Vec<&str> {
    let (mut found, mut rest) = (Vec::new(), code.trim_start());
    while let Some(first) = rest.chars().next() {
        let is_of_name = |letter: char| letter.is_alphanumeric() || letter == '_';
        let len = match rest.find(|letter| !is_of_name(letter)) {
            Some(0) if rest.starts_with("::") => 2,
            Some(0) => first.len_utf8(),
            end => end.unwrap_or(rest.len()),
        };
        found.push(&rest[..len]);
        rest = rest[len..].trim_start();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modules(code: &[(&str, &str)]) -> Modules {
        Modules(code.iter().map(|(module, code)| ((*module).to_owned(), (*code).to_owned())).collect())
    }

    fn uses(code: &[(&str, &str)], module: &str) -> Vec<String> {
        modules(code).graph()[module].iter().cloned().collect()
    }

    #[test]
    fn paths_are_found() {
        let with = |module, text| {
            let mut code = [("a", ""), ("a::b", ""), ("a::c", ""), ("d", ""), ("", "use d::D;")];
            code.iter_mut().find(|(name, _)| *name == module).expect("it is there").1 = text;
            uses(&code, module)
        };
        assert_eq!(
            with("a::b", "use super::c::X; use crate::{a::{Y, c::{self, Z}}, d};"),
            ["a", "a::c", "d"]
        );
        assert_eq!(with("a", "use self::{b::X, c}; fn f() { crate::d::f::<u8>() }"), ["a::b", "a::c", "d"]);
        assert_eq!(with("a", "fn f() { b::f(std::c::g()) }"), ["a::b"]);
        assert_eq!(with("a", "use crate::D;"), ["d"], "the root hands it on");
        assert_eq!(with("d", "use std::sync::Arc; use other::a::B;"), [""; 0]);
    }

    #[test]
    fn a_name_that_is_handed_on_is_its_owners() {
        let code = [
            ("", ""),
            ("a", "mod b; mod c; pub(crate) use b::{Name as Known, Other}; use crate::d::Thing;"),
            ("a::b", ""),
            ("a::c", "use super::{Known, Thing}; use crate::a; fn f() { a::g(); Thing::new() }"),
            ("d", "use crate::a::Other;"),
        ];
        assert_eq!(uses(&code, "a"), ["d"]);
        assert_eq!(uses(&code, "a::c"), ["a", "a::b", "d"]);
        assert_eq!(uses(&code, "d"), ["a::b"]);
        assert!(circles(modules(&code).graph()).is_empty());
    }

    #[test]
    fn circles_are_found() {
        let code = [("a", "use crate::b;"), ("b", "use crate::c;"), ("c", "use crate::{a, d};"), ("d", "")];
        let left = circles(modules(&code).graph());
        assert_eq!(left.keys().collect::<Vec<_>>(), ["a", "b", "c"]);
    }

    #[test]
    #[should_panic(expected = "b uses c")]
    fn an_arrow_upwards_is_refused() {
        modules(&[("a", ""), ("b", "use crate::{a, c};"), ("c", "")]).require_order(&["a", "b", "c"]);
    }

    #[test]
    fn unit_tests_and_comments_use_nothing() {
        let text = "// use crate::a;\nuse crate::b; // crate::c\n#[cfg(test)]\nmod tests {\n use crate::d; }";
        assert_eq!(code(text), "\nuse crate::b; \n");
    }
}
