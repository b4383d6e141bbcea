import FanfareCore
import FanfareModel
import Testing

/// The size of a topic's or a condition's audience, from the sizes of its topics.
@Suite struct AudienceFormulaTests {
    private static let sizes: [String: Int64] = ["a": 100, "b": 30, "c": 7, "huge": .max]

    private func formula(_ condition: String) throws -> AudienceFormula {
        try #require(AudienceFormula(.condition(condition)))
    }

    @Test(arguments: [
        ("'a' in topics", 100), ("'a' in topics || 'b' in topics", 130), ("'a' in topics && 'b' in topics", 30),
        // From left to right: && does not bind tighter.
        ("'a' in topics || 'b' in topics && 'c' in topics", 7),
        ("'a' in topics || ('b' in topics && 'c' in topics)", 107),
        ("'c' in topics && 'b' in topics || 'a' in topics", 107),
        ("('a' in topics || 'b' in topics) && ('c' in topics || 'a' in topics)", 107),
        ("'a' in topics || 'a' in topics", 200), ("'huge' in topics || 'a' in topics", Int64.max),
        ("'a' in topics || 'x' in topics", nil), ("'a' in topics && 'x' in topics", nil), ("'x' in topics", nil),
    ])
    func aConditionSumsAndTakesTheMinimum(condition: String, size: Int64?) throws {
        #expect(try formula(condition).size { Self.sizes[$0] } == size)
    }

    @Test func topicHasItsOwnSize() throws {
        let formula = try #require(AudienceFormula(.topic("a")))
        #expect(formula.size { Self.sizes[$0] } == 100)
        #expect(formula.text { _ in nil } == "a")
    }

    @Test func otherTargetsHaveNoFormula() {
        for target in [Target.tokens(["a"]), .fids(["a"]), .group("a"), .audience(key: "{p}a")] {
            #expect(AudienceFormula(target) == nil)
        }
        #expect(AudienceFormula(.condition("!('a' in topics)")) == nil)
    }

    @Test func knownSizesAreNumbersInTheFormula() throws {
        let formula = try formula("'a' in topics || ('x' in topics && 'b' in topics)")
        #expect(formula.text { Self.sizes[$0] } == "#100 x #30 < +")
        #expect(formula.text { _ in nil } == "a x b < +")
    }

    // MARK: The estimate of a job

    private func job(_ target: Target, size: Int64? = nil) -> Job {
        Job(id: "j", hasOwnID: true, entryID: "1-1", target: target, message: [], audienceSize: size)
    }

    @Test func sizeOfTheJobPrecedesTheConfiguredOne() {
        #expect(AudienceEstimate(of: job(.topic("a"), size: 5), topics: Self.sizes) == .known(5, .job))
        #expect(AudienceEstimate(of: job(.topic("a"), size: 0), topics: Self.sizes) == .known(0, .job))
        #expect(AudienceEstimate(of: job(.topic("a")), topics: Self.sizes) == .known(100, .config))
    }

    @Test func unknownSizeIsCounted() {
        #expect(AudienceEstimate(of: job(.topic("x")), topics: Self.sizes) == .counted(formula: "x"))
        let condition = Target.condition("'a' in topics || 'x' in topics")
        #expect(AudienceEstimate(of: job(condition), topics: Self.sizes) == .counted(formula: "#100 x +"))
        #expect(AudienceEstimate(of: job(condition), topics: [:]) == .counted(formula: "a x +"))
    }

    @Test func jobWithoutAFanOutInsideFCMHasNoEstimate() {
        #expect(AudienceEstimate(of: job(.tokens(["a"])), topics: Self.sizes) == nil)
        #expect(AudienceEstimate(of: job(.group("a")), topics: Self.sizes) == nil)
        var checked = job(.topic("a"), size: 5)
        checked.validateOnly = true
        #expect(AudienceEstimate(of: checked, topics: Self.sizes) == nil)
        var operation = job(.tokens(["t"]))
        operation.operation = .subscribe
        #expect(AudienceEstimate(of: operation, topics: Self.sizes) == nil)
    }
}
