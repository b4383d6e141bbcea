import Foundation
import Testing

@testable import BenchKit

struct CountBudgetsTests {
    private let text = #"{"debug": {"system_calls_per_send": 10, "allocations_per_send": 300}}"#

    @Test func whatIsOverItsBudgetIsNamedWithWhatToDo() throws {
        let budgets = try budgets(text)
        #expect(budgets.complaints(about: ["system_calls_per_send": 10, "allocations_per_send": 300]).isEmpty)
        let complaints = budgets.complaints(about: ["system_calls_per_send": 9, "allocations_per_send": 312.4])
        let message = try #require(complaints.first)
        #expect(complaints.count == 1)
        #expect(message.contains("allocations_per_send is 312, and 300 is the budget"))
        #expect(message.contains("B.json") && message.contains("debug") && message.contains("raise the budget"))
    }

    @Test func aFigureThatIsNotThereIsNoPass() throws {
        let complaints = try budgets(text).complaints(about: ["system_calls_per_send": 9])
        #expect(complaints.count == 1)
        #expect(try #require(complaints.first).hasPrefix("allocations_per_send: not measured"))
    }

    @Test func gainsAreToBeKept() throws {
        let figures = ["system_calls_per_send": 6.9, "allocations_per_send": 250]
        #expect(try budgets(text).worthLowering(for: figures) == ["system_calls_per_send"])
        let loose = try budgets(#"{"debug": {"redis_requests_per_1000": 60}}"#)
        #expect(loose.worthLowering(for: ["redis_requests_per_1000": 1]).isEmpty)
        let shared = try budgets(#"{"debug": {"system_calls_per_send": 1}}"#)
        #expect(shared.worthLowering(for: ["system_calls_per_send": 0.1]).isEmpty)
    }

    @Test(arguments: [
        "", "[]", #"{"debug": 3}"#, #"{"release": {}}"#, #"{"debug": {"sends_per_second": 4}}"#,
    ])
    func mistakesInTheFileAreUsageErrors(text: String) {
        #expect { try budgets(text) } throws: { ($0 as? BenchError)?.exitCode == 64 }
    }

    @Test func theFileOfTheRepositoryIsInOrder() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("budgets.json")
        for kind in ["debug", "release"].flatMap({ kind in HTTPEngine.allCases.map { $0.side(kind) } }) {
            let budgets = try CountBudgets(file: file.path, kind: kind)
            #expect(budgets.most["system_calls_per_send"] != nil)
            #expect(budgets.most["allocations_per_send"] != nil)
        }
    }

    @discardableResult
    private func budgets(_ text: String) throws -> CountBudgets {
        try CountBudgets(Data(text.utf8), file: "B.json", kind: "debug")
    }
}
