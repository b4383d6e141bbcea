import FanfareModel
import FanfareTemplate
import Testing

@Suite struct VariantTableTests {
    static let table = VariantTable(
        base: "base",
        variants: [
            ("es", "es"), ("es-MX", "es-MX"), ("pt-BR", "pt-BR"), ("a-very-long-name-of-a-variant", "long"), ("K", "K"),
        ]
    )

    static let lookups: [(String?, String)] = [
        (nil, "base"), ("es", "es"), ("es-MX", "es-MX"), ("es-AR", "es"), ("es-", "es"), ("es-MX-x", "es"),
        ("es_MX", "es-MX"), ("es_AR", "es"), ("es_", "es"), ("es-MX_x", "es"), ("ES", "base"), ("es_mx", "es"),
        ("e", "base"), ("ess", "base"), ("pt", "base"), ("pt-BR", "pt-BR"),
        ("pt-PT", "base"), ("", "base"), ("-", "base"), ("_", "base"), ("pt_BR", "pt-BR"), ("-es", "base"),
        ("a-very-long-name-of-a-variant", "long"),
        ("a-very-long-name-of-a-variant-x", "base"), ("\u{212A}", "base"), ("K-x", "K"),
    ]

    @Test(arguments: lookups)
    func variantIsFoundByNameThenByItsFirstPart(variant: String?, value: String) {
        #expect(Self.table.value(for: variant.map { SharedText($0) }) == value)
    }

    @Test func underlineAndHyphenAreEqualUnlessTheExactNameIsThere() {
        let both = VariantTable(base: 0, variants: [("zh_TW", 1), ("zh-TW", 2), ("sr_Latn_RS", 3)])
        let lookups = [("zh_TW", 1), ("zh-TW", 2), ("sr-Latn-RS", 3), ("sr_Latn-RS", 3), ("sr-Latn_ME", 0), ("zh", 0)]
        for (variant, value) in lookups { #expect(both.value(for: SharedText(variant)) == value, "\(variant)") }
    }

    @Test func longVariantIsTheBase() {
        #expect(Self.table.value(for: SharedText(String(repeating: "x", count: 100_000) + "-es")) == "base")
    }

    @Test func partOfALargerTextIsFoundByItsFirstPart() {
        let storage = Array(#"{"variant":"es-AR"}"#.utf8)
        #expect(Self.table.value(for: SharedText(12..<17, of: storage)) == "es")
    }

    @Test func emptyNameIsAnOrdinaryName() {
        let table = VariantTable(base: 0, variants: [("", 1)])
        #expect(table.value(for: SharedText("")) == 1)
        #expect(table.value(for: SharedText("-x")) == 1)
        #expect(table.value(for: SharedText("x")) == 0)
        #expect(table.value(for: nil) == 0)
    }

    @Test func tableWithoutVariantsGivesTheBase() {
        #expect(VariantTable(base: 7, variants: []).value(for: SharedText("es")) == 7)
    }

    @Test func mapKeepsNamesAndVisitsThemInOrder() {
        var visited: [String?] = []
        let lengths = Self.table.map { name, value in
            visited.append(name)
            return value.count
        }
        #expect(visited == [nil, "K", "a-very-long-name-of-a-variant", "es", "es-MX", "pt-BR"])
        #expect(lengths.base == 4)
        #expect(lengths.value(for: SharedText("es-MX")) == 5)
        #expect(lengths.value(for: SharedText("es-AR")) == 2)
    }
}
