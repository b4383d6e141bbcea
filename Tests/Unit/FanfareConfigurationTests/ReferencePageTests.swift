import Foundation
import TestSupport
import Testing

@testable import FanfareConfiguration

@Suite struct ReferencePageTests {
    /// `fanfare config reference` generates the table of the page.
    @Test func pageHoldsTheGeneratedTable() throws {
        let root = Repository.root
        let page = root.appendingPathComponent("Sources/Documentation/Fanfare.docc/Configuration.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        #expect(text.contains(SettingReference.markdown), "put the output of `fanfare config reference` into the page")
    }

    @Test func everySettingIsListedOnce() {
        for setting in Settings.all {
            #expect(SettingReference.markdown.components(separatedBy: "| `\(setting.path)` |").count == 2)
        }
        #expect(Set(Settings.all.map(\.path)).count == Settings.all.count)
        #expect(Set(Settings.all.map(\.environmentName)).count == Settings.all.count)
    }

    @Test func everyDefaultIsAllowed() {
        let rules = ValueRules(hosts: HostPolicy(allowed: []))
        for setting in Settings.all where !setting.defaultText.isEmpty {
            let value = SourcedValue(texts: [setting.defaultText], source: .file(line: 0))
            #expect(rules.fault(of: value, kind: setting.kind) == nil, "\(setting.path)")
        }
    }
}
