import Foundation
import TestSupport
import Testing

@testable import FanfareConfiguration

@Suite struct ReferencePageTests {
    @Test func pageEndsWithTheGeneratedTables() throws {
        let isCurrent = try GeneratedPage.ends("Configuration", with: SettingReference.markdown)
        #expect(isCurrent, "run FANFARE_WRITE_PAGES=1 swift test --filter ReferencePageTests and commit the page")
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
