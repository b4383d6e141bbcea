import Testing

@testable import fanfare

@Suite struct OperatorNameTests {
    @Test(arguments: [
        (["SUDO_USER": "ana", "USER": "root"], "ana@host"), (["USER": "ben"], "ben@host"),
        (["SUDO_USER": "", "USER": "ben"], "ben@host"), ([:], "uid 7@host"),
    ])
    func personBehindSudoStandsFirst(environment: [String: String], expected: String) {
        #expect(OperatorName.text(environment: environment, uid: 7, host: "host") == expected)
        #expect(OperatorName.text(environment: environment, uid: 7, host: "") == String(expected.dropLast(5)))
    }
}
