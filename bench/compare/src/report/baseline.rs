//! The configuration that others are compared with.

const USUAL: &str = "bloom:10";

/// `bloom:10`, or the first configuration where it is missing.
pub(super) fn baseline<'a>(mut configs: impl Iterator<Item = &'a str> + Clone) -> &'a str {
    configs.clone().find(|&config| config == USUAL).or_else(|| configs.next()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_usual_one_the_first_configuration_is_one() {
        assert_eq!(baseline(["none", "bloom:4"].into_iter()), "none");
        assert_eq!(baseline(["none", "bloom:10"].into_iter()), "bloom:10");
    }
}
