// The pages of the product are in Fanfare.docc. This file makes a target of them, which DocC needs.
