//! Colours that follow the reader's theme.
//!
//! An SVG knows no theme, and a reader's may be dark. So nothing is drawn in a colour that is meant: each thing gets
//! a *stand-in*, a nearly black number that names what it is, and the page's style sheet gives each stand-in its
//! colour in either theme by the attribute that holds it ([`style`]).

use std::fmt::Write as _;

use plotters::style::RGBColor;

use super::offer::FLOOR;
use super::summary::Summary;

/// Text, and the lines that show a spread.
pub(super) const INK: RGBColor = RGBColor(0, 0, 0);
/// The lines behind a plot.
pub(super) const GRID: RGBColor = RGBColor(0, 1, 0);

/// Series have this green and their number as blue.
const SERIES: u8 = 2;

/// What the series look like in light and in dark, told apart by lightness too. The last is the floor's.
const COLOURS: [(&str, &str); 11] = [
    ("#0b57d0", "#8ab4f8"),
    ("#00a0b0", "#26c6da"),
    ("#b3261e", "#ff8a80"),
    ("#d98200", "#ffca5f"),
    ("#2e7d32", "#81c784"),
    ("#8e24aa", "#dd9bee"),
    ("#6d4c41", "#c8a798"),
    ("#e0559b", "#f8bbd9"),
    ("#827717", "#dce775"),
    ("#37474f", "#b0bec5"),
    ("#8a8a8a", "#8a8a8a"),
];

/// Which contender has which colour: the same all over the page.
#[derive(Debug)]
pub(super) struct Palette {
    contenders: Vec<String>,
}

impl Palette {
    /// A colour for each contender, in the order in which they appear.
    pub(super) fn of(summary: &Summary) -> Self {
        let mut contenders: Vec<String> = Vec::new();
        for commands in summary
            .sections
            .iter()
            .flat_map(|section| &section.commands)
        {
            if commands.contender != FLOOR && !contenders.contains(&commands.contender) {
                contenders.push(commands.contender.clone());
            }
        }
        Self { contenders }
    }

    /// The number of a contender's colour. Contenders beyond the colours begin again with the first.
    pub(super) fn number(&self, contender: &str) -> u8 {
        let last = COLOURS.len() - 1;
        let found = self.contenders.iter().position(|name| name == contender);
        let number = found.map_or(last, |at| at % last);
        u8::try_from(number).unwrap_or(u8::MAX)
    }

    /// What the contender is drawn with.
    pub(super) fn stand_in(&self, contender: &str) -> RGBColor {
        RGBColor(0, SERIES, self.number(contender))
    }
}

/// The style sheet that gives the stand-ins their colours, through the page's variables `--ink` and `--grid` and
/// variables of its own; and a class `series-N` for anything that is to have a series' colour behind it.
pub(super) fn style() -> String {
    let (mut light, mut dark) = (String::new(), String::new());
    let mut rules = rule(INK, "var(--ink)") + &rule(GRID, "var(--grid)");
    for (number, (by_day, by_night)) in (0_u8..).zip(COLOURS) {
        // Writing to a string does not fail.
        let _ = write!(light, "--series-{number}:{by_day};");
        let _ = write!(dark, "--series-{number}:{by_night};");
        rules += &rule(
            RGBColor(0, SERIES, number),
            &format!("var(--series-{number})"),
        );
        let _ = writeln!(
            rules,
            ".series-{number}{{background:var(--series-{number})}}"
        );
    }
    format!(":root{{{light}}}\n@media(prefers-color-scheme:dark){{:root{{{dark}}}}}\n{rules}")
}

fn rule(RGBColor(red, green, blue): RGBColor, colour: &str) -> String {
    let name = format!("#{red:02X}{green:02X}{blue:02X}");
    format!("svg [fill=\"{name}\"]{{fill:{colour}}}svg [stroke=\"{name}\"]{{stroke:{colour}}}\n")
}

#[cfg(test)]
mod tests {
    use super::super::summary::fixture::lone;
    use super::*;

    #[test]
    fn each_contender_has_a_colour_and_the_floor_the_last() {
        let summary = lone(
            1.0,
            &[
                ("linux", [1.0; 3]),
                ("rayon", [1.0; 3]),
                ("floor", [1.0; 3]),
            ],
        );
        let palette = Palette::of(&summary);
        let numbers = ["linux", "rayon", "floor"].map(|name| palette.number(name));
        assert_eq!(numbers, [0, 1, 10]);
    }

    #[test]
    fn each_stand_in_has_its_rule() {
        let style = style();
        assert!(
            style.contains("svg [fill=\"#000200\"]{fill:var(--series-0)}"),
            "{style}"
        );
        assert!(
            style.contains("svg [stroke=\"#00020A\"]{stroke:var(--series-10)}"),
            "{style}"
        );
        assert!(
            style.contains("svg [fill=\"#000000\"]{fill:var(--ink)}"),
            "{style}"
        );
    }
}
