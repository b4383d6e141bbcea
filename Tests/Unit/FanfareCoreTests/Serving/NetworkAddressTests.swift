import Testing

@testable import FanfareCore

@Suite struct NetworkAddressTests {
    @Test(arguments: [
        ("192.0.2.7", "192.0.2.7"), ("::ffff:192.0.2.7", "192.0.2.7"), ("::FFFF:c000:207", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"), ("2001:db8:1:2::", "2001:db8:1:2::/64"),
        ("2001:db8::1", "2001:db8:0:0::/64"), ("fe80::1%eth0", "fe80:0:0:0::/64"), ("::1", "0:0:0:0::/64"),
        ("::", "0:0:0:0::/64"), ("64:ff9b::192.0.2.1", "64:ff9b:0:0::/64"),
    ])
    func clientHasTheNetwork(address: String, network: String) {
        #expect(NetworkAddress(address)?.clientNetwork == network)
    }

    @Test(arguments: [
        "", "a", "1.2.3", "1.2.3.4.5", "1.2.3.256", "1.2.3.-4", "1.2.3.+4", ":", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9",
        "1::2::3", "12345::", "g::", "1:2:3:4:5:6:7::8", "1.2.3.4::", "::1.2.3", ":::",
        String(repeating: "1", count: 100),
    ])
    func otherTextIsNoAddress(text: String) { #expect(NetworkAddress(text) == nil) }
}
