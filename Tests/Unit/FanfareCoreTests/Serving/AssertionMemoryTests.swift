import Testing

@testable import FanfareCore

@Suite struct AssertionMemoryTests {
    @Test func memoryIsBoundedAndKeepsTheNewest() {
        var memory = AssertionMemory()
        let limit = AssertionMemory.maximumEntries
        for number in 0..<3 * limit {
            memory.add(AssertionMemory.Entry(key: "a", lifetime: 0...1), at: KeyTrial.digest(number))
            #expect(memory.count <= limit)
        }
        for number in 5 * limit / 2..<3 * limit { #expect(memory.find(KeyTrial.digest(number)) != nil) }
        #expect(memory.find(KeyTrial.digest(0)) == nil)
    }

    @Test func assertionsOfARemovedKeyAreForgotten() {
        var memory = AssertionMemory()
        for number in 0..<AssertionMemory.maximumEntries {
            let key = number.isMultiple(of: 2) ? "even" : "odd"
            memory.add(AssertionMemory.Entry(key: key, lifetime: 0...1), at: KeyTrial.digest(number))
        }
        memory.remove { $0 == "odd" }
        #expect(memory.count == AssertionMemory.maximumEntries / 2)
        #expect(memory.find(KeyTrial.digest(2))?.key == "even" && memory.find(KeyTrial.digest(3)) == nil)
    }
}
