import FCMWire
import FanfareModel
import Foundation
import TestSupport
import Testing

/// Checks the errors, statuses and actions on the page Results.
@Suite struct ErrorPageTests {
    @Test func resultsPageHasEachErrorWithItsActions() throws {
        let table = try PageTable(page: "Results", section: "## Why did", column: "`error`")
        let kinds = table.rows.map { row in [row[0], row[2]].flatMap(PageTable.code).joined(separator: ".") }
        #expect(kinds.count == Set(kinds).count)
        var known = Set(CodeTable.rows.map { FailureKind($0.error, $0.action).text })
        // Not of the code table: an unknown code, and Fanfare's own findings.
        let others: [ErrorCode] = [.unspecified, .transport, .emptyGroup]
        known.formUnion(others.map { FailureKind($0, .none).text })
        #expect(Set(kinds) == known)
        #expect(table.rows.allSatisfy { $0.count == 4 && !$0[3].isEmpty }, "what your code does")
    }

    @Test func resultsPageHasEachStatusAndAction() throws {
        let statuses = try PageTable(page: "Results", section: "## results", column: "value of `status`").names
        #expect(Set(statuses).isSuperset(of: ResultStatus.allCases.map(\.rawValue)))
        let fields = try PageTable(page: "Results", section: "## results")
        let actions = try #require(fields.rows.first { $0[0] == "`action`" })[2]
        #expect(Set(PageTable.code(actions)).isSuperset(of: RemedyAction.allCases.map(\.rawValue)))
    }

    /// The page's example of an entry parses, and has fields of the table only.
    @Test func resultsPageShowsObjectsOfItsFields() throws {
        let page = try Page(Page.catalogue.appendingPathComponent("Results.md"))
        let names = try Set(PageTable(page: "Results", section: "## results").names)
        let blocks = page.blocks("json")
        #expect(blocks.count == 1)
        for block in blocks {
            let objects = try JSONSerialization.jsonObject(with: Data(block.utf8)) as? [[String: Any]]
            let used = try Set(#require(objects).flatMap(\.keys))
            #expect(used.contains("maybe_dup") && used.isSubset(of: names))
        }
    }
}
